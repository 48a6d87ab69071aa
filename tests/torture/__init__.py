"""The torture machine: random programs, facts, epochs and inputs against everything that can be checked.

Every kind of case is a module that says what it tries and what must hold. The machine runs for as long
as you like, on all cores, and shrinks what fails to a script that fails again:

    ./torture --minutes 10
    ./torture --only epochs --seed 7
"""

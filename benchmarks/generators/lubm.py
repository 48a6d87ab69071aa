"""Universities after the Lehigh University Benchmark (LUBM): a schema, people and courses."""

from collections.abc import Iterator

import numpy as np

Triple = tuple[str, str, str]

_SUBCLASSES = """
AdministrativeStaff Employee; Article Publication; AssistantProfessor Professor; AssociateProfessor Professor;
Book Publication; Chair Professor; ConferencePaper Article; Course Work; Dean Professor;
Department Organization; Director Person; Employee Person; Faculty Employee;
FullProfessor Professor; GraduateCourse Course;
GraduateStudent Student; Institute Organization; JournalArticle Article; Lecturer Faculty; Manual Publication;
PostDoc Faculty; Professor Faculty; Program Organization; Research Work; ResearchAssistant Student;
ResearchGroup Organization; Student Person; TeachingAssistant Person; TechnicalReport Article;
UndergraduateStudent Student; University Organization; VisitingProfessor Professor
"""
_SUBPROPERTIES = """
doctoralDegreeFrom degreeFrom; headOf worksFor; mastersDegreeFrom degreeFrom;
undergraduateDegreeFrom degreeFrom; worksFor memberOf
"""
_DOMAINS = """
advisor Person; degreeFrom Person; memberOf Person; publicationAuthor Publication;
subOrganizationOf Organization; takesCourse Student; teacherOf Faculty; teachingAssistantOf TeachingAssistant
"""
_RANGES = """
advisor Professor; degreeFrom University; memberOf Organization; publicationAuthor Person;
subOrganizationOf Organization; takesCourse Course; teacherOf Course; teachingAssistantOf Course
"""

# Kind of faculty: how many in a department, and how many publications each has (both ends included).
_FACULTY = {
    "FullProfessor": ((7, 10), (15, 20)),
    "AssociateProfessor": ((10, 14), (10, 18)),
    "AssistantProfessor": ((8, 11), (5, 10)),
    "Lecturer": ((5, 7), (0, 5)),
}


def lubm(universities: int, seed: int = 0) -> tuple[list[Triple], Iterator[Triple]]:
    """Return the schema and the assertions; about 100,000 assertions per university."""
    schema = [
        (_term(left), word, _term(right))
        for word, pairs in (
            ("rdfs:subClassOf", _SUBCLASSES),
            ("rdfs:subPropertyOf", _SUBPROPERTIES),
            ("rdfs:domain", _DOMAINS),
            ("rdfs:range", _RANGES),
        )
        for left, right in (pair.split() for pair in pairs.split(";"))
    ]
    return schema, _assertions(universities, np.random.default_rng(seed))


def _assertions(universities: int, random: np.random.Generator) -> Iterator[Triple]:
    for number in range(universities):
        university = f"http://www.University{number}.edu"
        yield university, "rdf:type", _term("University")
        yield university, _term("name"), f"University{number}"
        for department in range(_between(random, 15, 25)):
            yield from _department(university, number, department, universities, random)


def _department(
    university: str, number: int, department: int, universities: int, random: np.random.Generator
) -> Iterator[Triple]:
    here = f"http://www.Department{department}.University{number}.edu"
    yield here, "rdf:type", _term("Department")
    yield here, _term("name"), f"Department{department}"
    yield here, _term("subOrganizationOf"), university
    for group in range(_between(random, 10, 20)):
        yield f"{here}/ResearchGroup{group}", "rdf:type", _term("ResearchGroup")
        yield f"{here}/ResearchGroup{group}", _term("subOrganizationOf"), here

    faculty = {
        kind: [f"{here}/{kind}{i}" for i in range(_between(random, *count))]
        for kind, (count, _) in _FACULTY.items()
    }
    everyone = [person for people in faculty.values() for person in people]
    professors = [person for kind, people in faculty.items() if kind != "Lecturer" for person in people]
    courses = [f"{here}/Course{i}" for i in range(2 * len(everyone))]
    graduate_courses = [f"{here}/GraduateCourse{i}" for i in range(2 * len(everyone))]
    for kind, people in faculty.items():
        for person in people:
            yield from _member(person, kind, here, random)
            yield person, _term("worksFor"), here
            for degree in ("undergraduateDegreeFrom", "mastersDegreeFrom", "doctoralDegreeFrom"):
                yield person, _term(degree), _some_university(universities, random)
            yield from _publications(person, _between(random, *_FACULTY[kind][1]))
    yield faculty["FullProfessor"][0], _term("headOf"), here
    yield from _teaching(everyone, courses, "Course", random)
    yield from _teaching(everyone, graduate_courses, "GraduateCourse", random)

    for student in range(len(everyone) * _between(random, 8, 14)):
        person = f"{here}/UndergraduateStudent{student}"
        yield from _member(person, "UndergraduateStudent", here, random)
        yield person, _term("memberOf"), here
        yield from _takes(person, courses, _between(random, 2, 4), random)
        if student % 5 == 0:
            yield person, _term("advisor"), professors[random.integers(len(professors))]
    for student in range(len(everyone) * _between(random, 3, 4)):
        person = f"{here}/GraduateStudent{student}"
        yield from _member(person, "GraduateStudent", here, random)
        yield person, _term("memberOf"), here
        yield person, _term("undergraduateDegreeFrom"), _some_university(universities, random)
        yield person, _term("advisor"), professors[random.integers(len(professors))]
        yield from _takes(person, graduate_courses, _between(random, 1, 3), random)
        if student % 4 == 0:
            yield person, "rdf:type", _term("TeachingAssistant")
            yield person, _term("teachingAssistantOf"), courses[random.integers(len(courses))]


def _member(person: str, kind: str, here: str, random: np.random.Generator) -> Iterator[Triple]:
    name = person.rsplit("/", 1)[1]
    yield person, "rdf:type", _term(kind)
    yield person, _term("name"), name
    yield person, _term("emailAddress"), f"{name}@{here.removeprefix('http://www.')}"
    yield person, _term("telephone"), f"{random.integers(10**9):09d}"


def _publications(person: str, count: int) -> Iterator[Triple]:
    for number in range(count):
        publication = f"{person}/Publication{number}"
        yield publication, "rdf:type", _term("Publication")
        yield publication, _term("name"), f"Publication{number}"
        yield publication, _term("publicationAuthor"), person


def _teaching(
    people: list[str], courses: list[str], kind: str, random: np.random.Generator
) -> Iterator[Triple]:
    # One or two courses each, and no course twice.
    waiting = iter(courses)
    for person in people:
        for _ in range(_between(random, 1, 2)):
            course = next(waiting)
            yield course, "rdf:type", _term(kind)
            yield course, _term("name"), course.rsplit("/", 1)[1]
            yield person, _term("teacherOf"), course


def _takes(person: str, courses: list[str], count: int, random: np.random.Generator) -> Iterator[Triple]:
    for place in random.choice(len(courses), size=count, replace=False).tolist():
        yield person, _term("takesCourse"), courses[place]


def _some_university(universities: int, random: np.random.Generator) -> str:
    # Degrees come from anywhere, also from universities that are only named.
    return f"http://www.University{random.integers(max(universities, 1000))}.edu"


def _term(name: str) -> str:
    return f"ub:{name}"


def _between(random: np.random.Generator, fewest: int, most: int) -> int:
    return int(random.integers(fewest, most + 1))

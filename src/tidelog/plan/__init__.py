"""From rules to operators, as pure data."""

from tidelog.plan.operators import RulePlan, StratumPlan
from tidelog.plan.stratum import plan_stratum

__all__ = ["RulePlan", "StratumPlan", "plan_stratum"]

"""From rules to operators, as pure data."""

from tidelog.plan.operators import RulePlan, StratumPlan
from tidelog.plan.stratum import for_evaluation, plan_stratum

__all__ = ["RulePlan", "StratumPlan", "for_evaluation", "plan_stratum"]

"""gym_attrplan: name what matters about a state, and ask for it."""

from typing import TYPE_CHECKING, Any

from gym_attrplan.attributes import (
    FREE,
    AttributeFunction,
    AttributeSpace,
    Bins,
    FoundAttributes,
    GoalLike,
    GoalSet,
)
from gym_attrplan.envs.registration import register_environments
from gym_attrplan.error import AttrPlanError
from gym_attrplan.graph import TransitionCounts
from gym_attrplan.wrappers import (
    AttributeVectorWrapper,
    AttributeWrapper,
    CountBonus,
    CountBonusVector,
    GoalSampler,
    NormalizedCountBonus,
    NormalizedCountBonusVector,
    TeamEnv,
    check_attribute_env,
)

if TYPE_CHECKING:
    from gym_attrplan.agent import AttributePlannerAgent, PlannerOptions, VectorEnvAdapter
    from gym_attrplan.algorithms import Reinforce, TerminalHerReplayBuffer
    from gym_attrplan.models import AttributeDetector, GoalFusionExtractor, WordsExtractor

__version__ = "0.1.0"

__all__ = [
    "FREE",
    "AttrPlanError",
    "AttributeDetector",
    "AttributeFunction",
    "AttributePlannerAgent",
    "AttributeSpace",
    "AttributeVectorWrapper",
    "AttributeWrapper",
    "Bins",
    "CountBonus",
    "CountBonusVector",
    "FoundAttributes",
    "GoalFusionExtractor",
    "GoalLike",
    "GoalSampler",
    "GoalSet",
    "NormalizedCountBonus",
    "NormalizedCountBonusVector",
    "PlannerOptions",
    "Reinforce",
    "TeamEnv",
    "TerminalHerReplayBuffer",
    "TransitionCounts",
    "VectorEnvAdapter",
    "WordsExtractor",
    "__version__",
    "check_attribute_env",
]

register_environments()

_LAZY = {
    "AttributeDetector": "gym_attrplan.models",
    "AttributePlannerAgent": "gym_attrplan.agent",
    "GoalFusionExtractor": "gym_attrplan.models",
    "PlannerOptions": "gym_attrplan.agent",
    "Reinforce": "gym_attrplan.algorithms",
    "TerminalHerReplayBuffer": "gym_attrplan.algorithms",
    "VectorEnvAdapter": "gym_attrplan.agent",
    "WordsExtractor": "gym_attrplan.models",
}


def __getattr__(name: str) -> Any:
    """Import names that need torch on first use, so that importing this package stays fast."""
    if name not in _LAZY:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(_LAZY[name]), name)

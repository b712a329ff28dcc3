"""The jobs that the command line and the UI start."""

from dagster import AssetSelection, define_asset_job

from assets.agreement import second_opinion
from assets.concepts import captions, concept_set, vocabulary
from assets.conme import conme_assets, conme_images, stage_assets
from assets.conme_results import conme_evaluation, conme_summary_assets, review_assets
from assets.drift import api_drift
from assets.evaluation import filter_shift, leaderboard, model_scores, report, tables
from assets.faithfulness import faithfulness_assets
from assets.finetuning import finetuning_assets
from assets.images import images, negatives, paired_set, validated
from assets.instabind import (
    instabind_answers,
    instabind_assets,
    row_assets,
    set_assets,
    summary_assets,
)
from assets.matching import matching_assets
from resources.suite import current_suite

_judged_twice = [second_opinion] if current_suite().profile.second_judge else []

list_words = define_asset_job("list_words", AssetSelection.assets(vocabulary))
build_benchmark = define_asset_job(
    "build_benchmark",
    AssetSelection.assets(
        *matching_assets,
        concept_set,
        captions,
        images,
        validated,
        paired_set,
        negatives,
        filter_shift,
        *_judged_twice,
        *faithfulness_assets,
    ),
    description="A benchmark from concepts to candidates.",
)
score_model = define_asset_job(
    "score_model",
    AssetSelection.assets(model_scores),
    description="One model on one benchmark.",
)
summarize = define_asset_job(
    "summarize",
    AssetSelection.assets(leaderboard, tables, report),
    description="The leaderboard, the tables and the report from what has been scored.",
)
check_drift = define_asset_job(
    "check_drift",
    AssetSelection.assets(api_drift),
    description="Models behind servers, asked again about a small sample.",
)
jobs = [list_words, build_benchmark, score_model, summarize, check_drift]

draw_instabind = define_asset_job(
    "draw_instabind",
    AssetSelection.assets(*row_assets),
    description="Rows of like things, their images and what the checks say of them.",
)
ask_instabind = define_asset_job(
    "ask_instabind",
    AssetSelection.assets(*set_assets),
    description="A set's annotated images and the questions about them.",
)
answer_instabind = define_asset_job(
    "answer_instabind",
    AssetSelection.assets(instabind_answers),
    description="One model's answers to a set in one setting.",
)
summarize_instabind = define_asset_job(
    "summarize_instabind",
    AssetSelection.assets(*summary_assets),
    description="InstaBind's results and report from what has been answered.",
)
if instabind_assets:
    jobs += [ask_instabind, answer_instabind, summarize_instabind]
    jobs += [draw_instabind] if row_assets else []

show_conme = define_asset_job(
    "show_conme",
    AssetSelection.assets(conme_images),
    description="The images of a set of ConMe.",
)
converse = define_asset_job(
    "converse",
    AssetSelection.assets(*stage_assets),
    description="The seven stages of ConMe on a set, with a panel.",
)
review_conme = define_asset_job(
    "review_conme",
    AssetSelection.assets(*review_assets),
    description="What the strong model and a labeller say of a conversation's samples.",
)
evaluate_conme = define_asset_job(
    "evaluate_conme",
    AssetSelection.assets(conme_evaluation),
    description="One model on the samples of a conversation, in every mode.",
)
summarize_conme = define_asset_job(
    "summarize_conme",
    AssetSelection.assets(*conme_summary_assets),
    description="ConMe's tables and page from what has been evaluated.",
)
if conme_assets:
    jobs += [show_conme, converse, review_conme, evaluate_conme, summarize_conme]

finetune = define_asset_job(
    "finetune",
    AssetSelection.assets(*finetuning_assets),
    description="A contrastive model trained on hard negatives, and what that changed.",
)
if finetuning_assets:
    jobs += [finetune]

localrules:
    verdicts,
    judged,
    claim,


# Put together from those of each paper.
rule verdicts:
    input:
        of(targets.judged_files),
    output:
        html=report(
            f"{paths.VERDICTS}.html",
            caption="../report/verdicts.rst",
            category="1. Claims",
            labels={"claims": "table, all papers", "scale": "{scale}"},
        ),
        csv=f"{paths.VERDICTS}.csv",
        md=f"{paths.VERDICTS}.md",
        tex=f"{paths.VERDICTS}.tex",
        pdf=f"{paths.VERDICT_MAP}.pdf",
        png=map_for_report(
            f"{paths.VERDICT_MAP}.png", "all papers", "{scale}", "../report/figure.rst"
        ),
        caption=f"{paths.VERDICT_MAP}.txt",
    log:
        "logs/{scale}/verdicts.log",
    conda:
        "../../envs/environment.yaml"
    params:
        digest=lambda wildcards: code.digest(*targets.WRITTEN),
    shell:
        "replibo claims --scale {wildcards.scale} --judged {input} --output {output} > {log} 2>&1"


# The claims of one paper, from its own runs, and their map.
rule judged:
    input:
        of(targets.verdict_files),
    output:
        pdf=f"{paths.PAPER_MAP}.pdf",
        png=map_for_report(
            f"{paths.PAPER_MAP}.png", "{paper}", "{scale}", "../report/figure.rst"
        ),
        caption=f"{paths.PAPER_MAP}.txt",
        json=paths.JUDGED,
    log:
        "logs/{scale}/{paper}/verdict_map.log",
    wildcard_constraints:
        scale=MADE,
    conda:
        "../../envs/environment.yaml"
    params:
        digest=of(targets.verdicts_digest),
    shell:
        "replibo claims {wildcards.paper} --scale {wildcards.scale} --output {output} > {log} 2>&1"


# One claim in one reading, from the runs that it reads: snakemake --cores 2
# results/paper/go_ucb/claims/go_ucb_1_f1/printed.json
rule claim:
    input:
        of(targets.claim_files),
    output:
        paths.CLAIM,
    log:
        "logs/{scale}/{paper}/claims/{claim}/{reading}.log",
    wildcard_constraints:
        scale=MADE,
    conda:
        "../../envs/environment.yaml"
    params:
        digest=of(targets.verdicts_digest),
    shell:
        "replibo claims {wildcards.claim} --reading {wildcards.reading} --scale {wildcards.scale} "
        "--output {output} > {log} 2>&1"

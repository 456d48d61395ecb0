localrules:
    figure,
    table,
    published_figure,
    published_table,


rule figure:
    input:
        of(targets.output_files, "figures", name="figure"),
    output:
        pdf=f"{paths.FIGURE}.pdf",
        png=figure_for_report(
            f"{paths.FIGURE}.png",
            "{scale}",
            "{paper}",
            "{figure}",
            "../report/figure.rst",
        ),
        caption=f"{paths.FIGURE}.txt",
    log:
        "logs/{scale}/{paper}/{figure}.figure.log",
    wildcard_constraints:
        scale=MADE,
    conda:
        "../../envs/environment.yaml"
    params:
        digest=of(targets.output_digest, "figures", name="figure"),
    shell:
        "replibo figure {wildcards.paper} {wildcards.figure} --scale {wildcards.scale} "
        "--output {output.pdf} {output.png} {output.caption} > {log} 2>&1"


rule table:
    input:
        of(targets.output_files, "tables", name="table"),
    output:
        html=table_for_report(f"{paths.TABLE}.html", "{scale}", "{paper}", "{table}"),
        csv=f"{paths.TABLE}.csv",
        md=f"{paths.TABLE}.md",
        tex=f"{paths.TABLE}.tex",
    log:
        "logs/{scale}/{paper}/{table}.table.log",
    wildcard_constraints:
        scale=MADE,
    conda:
        "../../envs/environment.yaml"
    params:
        digest=of(targets.output_digest, "tables", name="table"),
    shell:
        "replibo table {wildcards.paper} {wildcards.table} --scale {wildcards.scale} "
        "--output {output} > {log} 2>&1"


# Readings of published figures and tables are made on demand.
use rule figure as published_figure with:
    wildcard_constraints:
        scale=paths.PUBLISHED,
        figure=OUTPUT + READING,


use rule table as published_table with:
    wildcard_constraints:
        scale=paths.PUBLISHED,
        table=OUTPUT + READING,


# What is published is shown in less time than a process takes to start: of each paper in one process,
# with the verdicts.
# Not listed in the processes of a cluster's jobs, which make none of it.
for paper in (
    targets.papers_at(CONFIG, paths.PUBLISHED) if workflow.is_main_process else ()
):

    rule:
        name:
            f"published_{paper}"
        input:
            lambda wildcards, paper=paper: published_files(paper),
        output:
            published_outputs(paper),
        log:
            f"logs/published/{paper}/outputs.log",
        localrule: True
        conda:
            "../../envs/environment.yaml"
        params:
            paper=paper,
            digest=of(targets.published_digest, paper),
        shell:
            "replibo outputs {params.paper} --scale published > {log} 2>&1"

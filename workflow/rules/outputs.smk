localrules:
    figure,
    table,


rule figure:
    input:
        "results/{scale}/{paper}/runs.parquet",
    output:
        pdf="figures/{scale}/{paper}/{figure}.pdf",
        png=report(
            "figures/{scale}/{paper}/{figure}.png",
            caption="../report/figure.rst",
            category="2. Figures",
            subcategory="{paper}",
            labels={"figure": "{figure}", "scale": "{scale}"},
        ),
    log:
        "logs/{scale}/{paper}/{figure}.figure.log",
    benchmark:
        "logs/{scale}/{paper}/{figure}.figure.benchmark.tsv"
    conda:
        "../../envs/environment.yaml"
    params:
        digest=lambda wildcards: digest_of_output(
            "figures", wildcards.paper, wildcards.figure
        ),
        caption=lambda wildcards: caption_of_output(
            "figures", wildcards.paper, wildcards.figure
        ),
    shell:
        "replibo figure {wildcards.paper} {wildcards.figure} --runs {input} "
        "--output {output.pdf} {output.png} > {log} 2>&1"


rule table:
    input:
        "results/{scale}/{paper}/runs.parquet",
    output:
        csv=report(
            "results/{scale}/{paper}/{table}.csv",
            caption="../report/table.rst",
            category="3. Tables",
            subcategory="{paper}",
            labels={"table": "{table}", "scale": "{scale}"},
        ),
        md="results/{scale}/{paper}/{table}.md",
        tex="results/{scale}/{paper}/{table}.tex",
    log:
        "logs/{scale}/{paper}/{table}.table.log",
    benchmark:
        "logs/{scale}/{paper}/{table}.table.benchmark.tsv"
    conda:
        "../../envs/environment.yaml"
    params:
        digest=lambda wildcards: digest_of_output(
            "tables", wildcards.paper, wildcards.table
        ),
        caption=lambda wildcards: caption_of_output(
            "tables", wildcards.paper, wildcards.table
        ),
    shell:
        "replibo table {wildcards.paper} {wildcards.table} --runs {input} "
        "--output {output.csv} {output.md} {output.tex} > {log} 2>&1"

localrules:
    figure,
    table,


rule figure:
    input:
        lambda wildcards: runs_of_output(
            "figures", wildcards.paper, wildcards.figure, wildcards.scale
        ),
    output:
        pdf=f"{paths.FIGURE}.pdf",
        png=report(
            f"{paths.FIGURE}.png",
            caption="../report/figure.rst",
            category="2. Figures",
            subcategory="{paper}",
            labels={"figure": "{figure}", "scale": "{scale}"},
        ),
        caption=f"{paths.FIGURE}.txt",
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
    shell:
        "replibo figure {wildcards.paper} {wildcards.figure} --scale {wildcards.scale} "
        "--output {output.pdf} {output.png} {output.caption} > {log} 2>&1"


rule table:
    input:
        lambda wildcards: runs_of_output(
            "tables", wildcards.paper, wildcards.table, wildcards.scale
        ),
    output:
        html=report(
            f"{paths.TABLE}.html",
            caption="../report/table.rst",
            category="3. Tables",
            subcategory="{paper}",
            labels={"table": "{table}", "scale": "{scale}"},
        ),
        csv=f"{paths.TABLE}.csv",
        md=f"{paths.TABLE}.md",
        tex=f"{paths.TABLE}.tex",
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
        "replibo table {wildcards.paper} {wildcards.table} --scale {wildcards.scale} "
        "--output {output} > {log} 2>&1"

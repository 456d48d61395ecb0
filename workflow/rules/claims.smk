localrules:
    claims,


rule claims:
    input:
        runs=lambda wildcards: [
            f"results/{wildcards.scale}/{paper}/runs.parquet"
            for paper in targets.papers_at(CONFIG, wildcards.scale)
        ],
        claims="config/claims.yaml",
    output:
        html=report(
            "results/{scale}/claims.html",
            caption="../report/claims.rst",
            category="1. Claims",
            labels={"claims": "all papers", "scale": "{scale}"},
        ),
        csv="results/{scale}/claims.csv",
        md="results/{scale}/claims.md",
        tex="results/{scale}/claims.tex",
    log:
        "logs/{scale}/claims.log",
    benchmark:
        "logs/{scale}/claims.benchmark.tsv"
    conda:
        "../../envs/environment.yaml"
    params:
        digest=targets.claims_digest(CONFIG),
    shell:
        "replibo claims --scale {wildcards.scale} "
        "--output {output.html} {output.csv} {output.md} {output.tex} > {log} 2>&1"

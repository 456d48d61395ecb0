localrules:
    claims,


rule claims:
    input:
        runs_of_claims,
    output:
        html=report(
            f"{paths.CLAIMS}.html",
            caption="../report/claims.rst",
            category="1. Claims",
            labels={"claims": "all papers", "scale": "{scale}"},
        ),
        csv=f"{paths.CLAIMS}.csv",
        md=f"{paths.CLAIMS}.md",
        tex=f"{paths.CLAIMS}.tex",
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

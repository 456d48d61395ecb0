from snakemake.utils import min_version

min_version("9.27")


include: "workflow/rules/messages.smk"


# In another folder (--directory, or as a module of another workflow) links lead to what is read.
for name in ("config", "docs", "published", "READINGS.md"):
    source = Path(str(workflow.current_basedir), name)
    if source.exists() and not Path(name).exists():
        Path(name).symlink_to(source)

# Files of the command line, or a module's config, are laid over the config of the papers.
for name in workflow.configfiles:
    check_yaml(name)
config.update(one_line(load.read_with)(config))

if not isinstance(config["papers"], list):
    sys.exit(
        f"replibo: config: papers: must be a list of papers, got {config['papers']!r}"
    )


report: "workflow/report/workflow.rst"


include: "workflow/rules/common.smk"
include: "workflow/rules/data.smk"
include: "workflow/rules/runs.smk"
include: "workflow/rules/outputs.smk"
include: "workflow/rules/verdicts.smk"
include: "workflow/rules/site.smk"


localrules:
    all,
    quick,
    smoke,
    published,
    data,


# Unless the user asks for another, Snakemake's limit is 100 jobs a second, which no run comes near. For
# its sake the scheduler looks at the ready jobs again a second after each look, and each job that ends
# adds a look of its own: after 300 jobs 300 a second, half a core's time, as long as a job waits
# (measured with benchmarks/scheduler.py of commit 5f9de6dc).
onstart:
    limit = workflow.scheduling_settings.max_jobs_per_timespan
    if limit and (limit.max_jobs, limit.timespan) == (100, 1):
        workflow.scheduler.job_rate_limiter = None
    planned = list(workflow.dag.needrun_jobs())
    limits = workflow.resource_settings
    progress_line.expect(
        CONFIG, planned, limits.cores if workflow.local_exec else limits.nodes
    )
    # Jobs on this machine are forked from one server. Runs at paper scale need no server, and for a
    # few jobs its imports cost more than theirs.
    jobs = [
        job.rule.name
        for job in planned
        if job.rule.name != "run" or not forked.is_measured(job.wildcards.scale)
    ]
    local = workflow.is_main_process and workflow.local_exec and not workflow.touch
    if local and len(jobs) > 3:
        forked.start(runs="run" in jobs)


# Inputs are functions, so that only those of the wanted targets are listed.
rule all:
    default_target: True
    input:
        of(targets.outputs, "paper"),


rule quick:
    input:
        of(targets.outputs, "quick"),


rule smoke:
    input:
        of(targets.outputs, "smoke"),


rule published:
    input:
        of(targets.outputs, "published"),


# A paper's runs, figures and tables at paper scale: snakemake --cores 2 go_ucb
for paper in CONFIG.papers:

    rule:
        name:
            paper
        input:
            of(targets.of_paper, paper, "paper"),
        localrule: True


rule data:
    input:
        [f"{CONFIG.data_dir}/{file.path}" for file in MANIFEST.values()],

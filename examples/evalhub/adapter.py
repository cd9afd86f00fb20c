"""An adapter for EvalHub (eval-hub-sdk 1.0.6): one benchmark of a job, measured by pytest-bias."""

import os
import time

from evalhub.adapter import (
    DefaultCallbacks,
    EvaluationResult,
    FrameworkAdapter,
    JobCallbacks,
    JobPhase,
    JobResults,
    JobSpec,
    JobStatus,
    JobStatusUpdate,
    MessageInfo,
    resolve_model_credentials,
)
from scores import info_of, options_of, results_of, suite_of

from pytest_bias import measure


class PytestBias(FrameworkAdapter):
    """Measures a model behind an endpoint with OpenAI's protocol, or one that is named."""

    def run_benchmark_job(self, config: JobSpec, callbacks: JobCallbacks) -> JobResults:
        """Measure one suite; a suite without a score is an error, and never 0."""
        entry = suite_of(config.benchmark_id)
        options = options_of(config.parameters, config.num_examples)
        if key := resolve_model_credentials().api_key:
            os.environ["PYTEST_BIAS_API_KEY"] = key
        said = MessageInfo(message=f"measuring {entry}", message_code="measuring")
        phase = JobPhase.RUNNING_EVALUATION
        callbacks.report_status(
            JobStatusUpdate(status=JobStatus.RUNNING, phase=phase, message=said)
        )
        start = time.monotonic()
        model = config.model
        name = f"openai:{model.url}#{model.name}" if model.url else model.name
        report = measure(name, suites=[entry], **options)
        results = results_of(report, entry)
        suite = next(s for s in report.suites if s.entry == entry)
        return JobResults(
            id=config.id,
            benchmark_id=config.benchmark_id,
            benchmark_index=config.benchmark_index,
            model_name=model.name,
            results=[EvaluationResult(**result) for result in results],
            num_examples_evaluated=sum(r.status == "scored" for r in suite.records),
            duration_seconds=time.monotonic() - start,
            additional_info=info_of(report, results),
        )


def main() -> None:
    """Run the job that EvalHub has mounted, and report its results or why there are none."""
    adapter = PytestBias()
    callbacks = DefaultCallbacks.from_adapter(adapter)
    try:
        results = adapter.run_benchmark_job(adapter.job_spec, callbacks)
    except Exception as error:
        why = MessageInfo(message=str(error), message_code="failed")
        callbacks.report_status(JobStatusUpdate(status=JobStatus.FAILED, error_message=why))
        raise
    callbacks.report_results(results)


if __name__ == "__main__":
    main()

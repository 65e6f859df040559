/** Converts errors of lower layers to API errors. */
import { AegisError, type ErrorCode } from "@aegis/contract/errors.ts";
import { GitError, type GitFetchProblem } from "@aegis/lib/git-fetch.ts";
import { FetchError, type FetchProblem } from "@aegis/lib/safe-fetch.ts";
import { TreeRefused } from "@aegis/lib/tree-rules.ts";

const ofFetch: Readonly<Record<FetchProblem, ErrorCode>> = {
  refused: "forbidden",
  redirects: "upstream",
  too_large: "too_large",
  timeout: "timeout",
  cut: "upstream",
  failed: "upstream",
};

const ofGit: Readonly<Record<GitFetchProblem, ErrorCode>> = {
  refused: "invalid",
  no_git: "conflict",
  no_ref: "not_found",
  too_large: "too_large",
  timeout: "timeout",
  failed: "upstream",
};

/** Rethrows unknown errors. */
export function asAegisError(error: unknown): AegisError {
  if (error instanceof AegisError) return error;
  if (error instanceof FetchError) return new AegisError(ofFetch[error.problem], error.message, { cause: error });
  if (error instanceof GitError) return new AegisError(ofGit[error.problem], error.message, { cause: error });
  if (error instanceof TreeRefused) {
    const code = error.problem === "too_large" || error.problem === "too_many" ? "too_large" : "forbidden";
    const details = { problem: error.problem, path: error.path };
    return new AegisError(code, `the files were refused: ${error.message}`, { details, cause: error });
  }
  throw error;
}

/** Has several agents review a branch in parallel and writes one report. */
import { type Workflow, type WorkflowContext, WorkflowError, workflow, z } from "@aegis/plugin-api/index.ts";
import { quote, slug, writeText } from "./files.ts";

const input = z.object({
  base: z.string().min(1).default("main").describe("the branch to compare with"),
  reviewers: z.array(z.string().min(1)).min(1).optional().describe("the agents that review the branch"),
  report: z.string().min(1).optional().describe("where to write the report"),
});

export type ReviewBranchConfig = {
  /** The agents that review the branch. */
  reviewers: string[];
  report_dir: string;
  /** The reviewers read the rest of a longer diff themselves. */
  most_diff_characters: number;
};

/** `unclear`: a review without a verdict, which does not count as approval. */
type Review = { reviewer: string; verdict: "ok" | "blocked" | "unclear" | "failed"; text: string };

export function reviewBranch(): Workflow<typeof input, ReviewBranchConfig> {
  const config: ReviewBranchConfig = {
    reviewers: ["security-reviewer", "api-reviewer", "test-reviewer"],
    report_dir: "docs/reviews",
    most_diff_characters: 60_000,
  };
  return workflow(
    "review_branch",
    { description: "Review the current branch with several agents at once and write one report.", input, config },
    async (context, { base, report, reviewers = context.config.reviewers }) => {
      const branch = await git(context, "rev-parse --abbrev-ref HEAD");
      const commit = await git(context, "rev-parse --short HEAD");
      const files = await git(
        context,
        `diff --no-ext-diff --no-textconv --stat --end-of-options ${quote(base)}...HEAD`,
      );
      const diff = await git(context, `diff --no-ext-diff --no-textconv --end-of-options ${quote(base)}...HEAD`);
      if (diff === "") throw new WorkflowError(`there is nothing to review: ${branch} does not differ from ${base}`);
      const reviews = await context.parallel(
        reviewers.map((reviewer) => () => review(context, reviewer, { base, branch, files, diff })),
      );
      const path = report ?? `${context.config.report_dir}/${slug(branch)}-${commit}.md`;
      await writeText(context as WorkflowContext<never>, path, reportText({ base, branch, commit, files, reviews }));
      await context.checkpoint("report", { path });
      const count = (verdict: Review["verdict"]) => reviews.filter((one) => one.verdict === verdict).length;
      if (count("failed") === reviews.length) throw new WorkflowError(`no reviewer delivered a review; see ${path}`);
      const counts = { ok: count("ok"), blocked: count("blocked"), unclear: count("unclear"), failed: count("failed") };
      const words = Object.entries(counts).filter(([verdict, n]) => n > 0 || verdict === "ok" || verdict === "blocked");
      const summary = words.map(
        ([verdict, n], at) => `${n} ${at === 0 ? (n === 1 ? "review " : "reviews ") : ""}${verdict}`,
      );
      return { summary: summary.join(", "), report: path, ...counts };
    },
  );
}

/** A failed reviewer is noted in the report; the other reviews are kept. */
async function review(
  context: WorkflowContext<ReviewBranchConfig>,
  reviewer: string,
  branch: { base: string; branch: string; files: string; diff: string },
): Promise<Review> {
  try {
    const handle = await context.spawn(reviewer, { alias: `review of ${branch.branch}` });
    const text = await context.send(handle, prompt(reviewer, branch, context.config.most_diff_characters));
    await context.close(handle);
    return { reviewer, verdict: verdictOf(text), text };
  } catch (error) {
    if (!(error instanceof WorkflowError)) throw error;
    return { reviewer, verdict: "failed", text: error.message };
  }
}

function verdictOf(text: string): Review["verdict"] {
  const verdicts = [...text.matchAll(/^\W*verdict\W+(ok|block)/gimu)].map((match) => match[1]?.toLowerCase());
  if (verdicts.includes("block")) return "blocked";
  return verdicts.length === 0 ? "unclear" : "ok";
}

function prompt(
  reviewer: string,
  { base, branch, files, diff }: { base: string; branch: string; files: string; diff: string },
  most: number,
): string {
  const shown =
    diff.length <= most ? diff : `${diff.slice(0, most)}\n[cut: read the rest with git diff ${base}...HEAD]`;
  return [
    `You are ${reviewer}. Review the branch ${branch} against ${base}, from your point of view only.`,
    "Change nothing. Begin your answer with a line `Verdict: ok` or `Verdict: block`, then list your findings with file and line.",
    files,
    `\`\`\`diff\n${shown}\n\`\`\``,
  ].join("\n\n");
}

function reportText(report: {
  base: string;
  branch: string;
  commit: string;
  files: string;
  reviews: readonly Review[];
}): string {
  const { base, branch, commit, files, reviews } = report;
  const rows = reviews.map(({ reviewer, verdict }) => `| ${reviewer} | ${verdict} |`);
  return [
    `# Review of ${branch} at ${commit}`,
    `Compared with \`${base}\`.`,
    ["| reviewer | verdict |", "|---|---|", ...rows].join("\n"),
    `\`\`\`\n${files}\n\`\`\``,
    ...reviews.map(({ reviewer, text }) => `## ${reviewer}\n\n${text.trim()}`),
  ].join("\n\n");
}

async function git(context: WorkflowContext<ReviewBranchConfig>, command: string): Promise<string> {
  // The folder may come from a third party, and its .git/config could name programs to run.
  const { exit, stdout, stderr } = await context.bash(`git -c core.fsmonitor=false ${command}`);
  if (exit !== 0) throw new WorkflowError(`git ${command} failed: ${stderr.trim()}`);
  return stdout.trim();
}

/** Words about the result of a check. Without zod, so that a page can import them. */
import type { CheckReceipt, TestCounts } from "./receipt.ts";

/** A result that is not to be believed without a look. */
export function suspicion({ status, counts }: Pick<CheckReceipt, "status" | "counts">): string | null {
  if (status !== "passed" || counts === null) return null;
  if (counts.failed > 0) return "suspicious: it succeeded although tests failed";
  return counts.passed === 0 && !counts.partial ? "suspicious: no test ran" : null;
}

export function testCountWords({ passed, failed, skipped, partial }: TestCounts): string {
  const parts = [`${passed} passed`, ...(failed > 0 ? [`${failed} failed`] : [])];
  if (skipped > 0) parts.push(`${skipped} skipped`);
  return `${parts.join(", ")}${partial ? " or more" : ""}`;
}

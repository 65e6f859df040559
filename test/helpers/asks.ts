/** Asks for tests of what is shown of them. */
import type { Ask } from "@aegis/contract/ask.ts";
import { newId } from "@aegis/contract/ids.ts";

export function anAsk(more: Partial<Ask> = {}): Ask {
  return {
    id: newId("ask", 1),
    session: newId("ses", 1),
    kind: "permission",
    question: "may I?",
    reason: null,
    gate: false,
    tool: "Bash",
    detail: null,
    changes: [],
    cwd: null,
    origin: null,
    omitted: 0,
    options: ["allow", "always", "deny"],
    digest: "d".repeat(64),
    status: "open",
    answer: null,
    created_at: 1,
    expires_at: null,
    settled_at: null,
    settled_by: null,
    settled_reason: null,
    ...more,
  };
}

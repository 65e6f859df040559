/** Glyph and colour of each state. */

import type { SubagentStatus } from "@aegis/contract/subagent.ts";
import type { TaskStatus } from "@aegis/contract/task.ts";
import type { Activity } from "../facts/activity.ts";
import type { RunWords } from "../facts/dashboard.ts";
import type { Role } from "../theme.ts";

export type Mark = { readonly glyph: string; readonly role: Role };

export const sessionMarks: Readonly<Record<Activity["state"], Mark>> = {
  asks: { glyph: "?", role: "wait" },
  working: { glyph: "▶", role: "run" },
  ready: { glyph: "✓", role: "ok" },
  error: { glyph: "✗", role: "error" },
  closed: { glyph: "⊘", role: "dim" },
};

export const runMarks: Readonly<Record<RunWords["status"], Mark>> = {
  running: { glyph: "▶", role: "run" },
  "awaiting reply": { glyph: "?", role: "wait" },
  parked: { glyph: "‖", role: "wait" },
  ok: { glyph: "✓", role: "ok" },
  error: { glyph: "✗", role: "error" },
  cancelled: { glyph: "⊘", role: "dim" },
};

export const taskMarks: Readonly<Record<TaskStatus, Mark>> = {
  pending: { glyph: "·", role: "dim" },
  dispatched: { glyph: "▶", role: "run" },
  completed: { glyph: "✓", role: "ok" },
  failed: { glyph: "✗", role: "error" },
  cancelled: { glyph: "⊘", role: "dim" },
};

export const subagentMarks: Readonly<Record<SubagentStatus, Mark>> = {
  running: { glyph: "▶", role: "run" },
  done: { glyph: "✓", role: "ok" },
  error: { glyph: "✗", role: "error" },
  timeout: { glyph: "✗", role: "error" },
  killed: { glyph: "⊘", role: "dim" },
};

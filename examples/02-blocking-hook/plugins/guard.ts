import { hook } from "aegis";

/** Gates fail closed: if this code throws or times out, the call is denied too. */
export const keepChangelog = hook("pre_tool_use", ({ input }) =>
  JSON.stringify(input).includes("CHANGELOG")
    ? { decision: "deny", reason: "The changelog is written by people." }
    : null,
);

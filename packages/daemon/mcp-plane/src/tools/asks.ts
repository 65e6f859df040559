/** The tool that asks a person. No output of an agent can answer an ask. */

import { AegisError } from "@aegis/contract/errors.ts";
import type { Asks } from "@aegis/sessions/asks/asks.ts";
import { type AgentTool, defineTool } from "@aegis/sessions/tools/tools.ts";
import { z } from "zod";

/** One day, because a person may not be available sooner. */
const longestWaitSeconds = 86_400;

export function askTools(asks: Asks): AgentTool[] {
  return [
    defineTool({
      name: "aegis_ask_human",
      description: "Ask a person and wait for the answer. Use it for decisions that you should not make yourself.",
      input: z.object({
        question: z.string().min(1).max(10_000),
        options: z
          .array(z.string().min(1).max(200))
          .max(20)
          .default([])
          .describe("the answers to choose from; if empty, any text is accepted"),
        timeout_s: z.number().positive().max(longestWaitSeconds).optional(),
      }),
      readOnly: false,
      async run(input, { caller, signal }) {
        if (caller.ask_policy === "deny")
          throw new AegisError("forbidden", "this session has no person to ask", {
            hint: "decide yourself and state your assumptions",
          });
        const { status, answer } = await asks.ask(
          {
            session: caller.id,
            kind: "question",
            question: input.question,
            tool: null,
            detail: null,
            options: input.options,
            ...(input.timeout_s === undefined ? {} : { timeoutMs: input.timeout_s * 1000 }),
          },
          signal,
        );
        return { status, answer: answer === null ? null : (answer.choice ?? answer.text), note: answer?.text ?? "" };
      },
    }),
  ];
}

/** A tool to ask a person. Nothing an agent says can answer it. */
import { z } from "zod";
import type { Asks } from "../../runtime/asks/asks.ts";
import { defineTool, type Tool } from "../../runtime/registry/tools.ts";

/** A day: whoever asks a person may have to wait for one. */
const longestWaitSeconds = 86_400;

export function askTools(asks: Asks): Tool[] {
  return [
    defineTool({
      name: "aegis_ask_human",
      description: "Ask a person and wait for the answer. Use it for decisions that are not yours.",
      input: z.object({
        question: z.string().min(1).max(10_000),
        options: z
          .array(z.string().min(1).max(200))
          .max(20)
          .default([])
          .describe("the answers to choose from; none takes any text"),
        timeout_s: z.number().positive().max(longestWaitSeconds).optional(),
      }),
      readOnly: false,
      async run(input, { caller, signal }) {
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

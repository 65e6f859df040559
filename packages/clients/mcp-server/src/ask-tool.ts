/** The tool that shows what agents ask, and lets the client's user answer a question. It never approves a tool call. */

import { isId } from "@aegis/contract/ids.ts";
import { z } from "zod";
import { defineTool, value } from "./context.ts";
import { shownAsk } from "./outcomes.ts";

export const askTool = defineTool({
  name: "aegis_asks",
  description:
    "List what agents ask a person, and let the user answer a question. Approvals are answered in Aegis itself.",
  input: z.object({ ask: z.string().optional().describe("show only this ask; default: the oldest question first") }),
  async run({ ask: wanted }, { signal, showsForms, answers }, { client }) {
    for (const [key, answer] of Object.entries(answers)) {
      const [ask, digest] = key.split("~");
      const given = answerIn(answer);
      if (ask === undefined || digest === undefined || !isId("ask", ask)) continue;
      if (given === null) return value({ ask, status: "not answered" });
      const found = await client.call("getAsk", { path: { ask }, signal });
      const body = found.ask.options.includes(given) ? { choice: given, digest } : { text: given, digest };
      const { ask: settled } = await client.call("answerAsk", { path: { ask: found.ask.id }, body, signal });
      return value({ ask, status: settled.status, answer: given });
    }
    const { asks } = await client.call("listAsks", { signal });
    const open = asks.toSorted((a, b) => a.created_at - b.created_at);
    const chosen = wanted === undefined ? open : open.filter(({ id }) => id === wanted);
    const question = chosen.find(({ kind }) => kind === "question");
    if (question === undefined || !showsForms) {
      return value({ asks: chosen.map((ask) => ({ ...shownAsk(ask), answer_with: `aegis answer ${ask.id}` })) });
    }
    const { id, digest, origin, options } = question;
    const who = origin === null ? "An agent" : `${origin.handle} (${origin.agent})`;
    return { form: { key: `${id}~${digest}`, message: `${who} asks: ${question.question}`, choices: options } };
  },
});

/** Clients do not validate what they send. A declined form has no content. */
function answerIn(response: unknown): string | null {
  const accepted = z.object({ action: z.literal("accept"), content: z.object({ answer: z.string().min(1) }) });
  return accepted.safeParse(response).data?.content.answer ?? null;
}

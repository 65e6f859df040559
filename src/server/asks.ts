import type { Handlers } from "./adapter.ts";
import type { Services } from "./services.ts";

export type AskHandlers = Pick<Handlers, "listAsks" | "getAsk" | "answerAsk">;

export function askHandlers({ asks }: Services): AskHandlers {
  return {
    listAsks: async ({ query }) => ({ asks: await asks.list(query) }),
    getAsk: async ({ path }) => ({ ask: await asks.get(path.ask) }),
    async answerAsk({ path, body }) {
      const { digest, ...answer } = body;
      return { ask: await asks.answer(path.ask, answer, digest) };
    },
  };
}

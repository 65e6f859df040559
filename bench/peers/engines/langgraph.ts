/** LangGraph with its SQLite saver, which writes a checkpoint after each node. */
import { join } from "node:path";
import { Annotation, Command, END, interrupt, START, StateGraph } from "@langchain/langgraph";
import { SqliteSaver } from "@langchain/langgraph-checkpoint-sqlite";
import { Database } from "../node-sqlite.ts";
import type { OpenPeer } from "../peer.ts";

const State = Annotation.Root({ run: Annotation<string>(), step: Annotation<number>() });

export const open: OpenPeer = async ({ dir, steps, syncAll, effect }) => {
  const db = new Database(join(dir, "langgraph.db"));
  if (syncAll) db.pragma("synchronous=FULL");
  const checkpointer = new SqliteSaver(db as unknown as ConstructorParameters<typeof SqliteSaver>[0]);
  const names = Array.from({ length: steps }, (_, step) => `step_${step}`);
  // The type of a graph grows with each node; here nodes are made in a loop.
  const graph = new StateGraph(State) as unknown as {
    addNode(name: string, node: (state: typeof State.State) => Promise<Partial<typeof State.State>>): void;
    addEdge(from: string, to: string): void;
    compile: StateGraph<typeof State.spec>["compile"];
  };
  for (const [step, name] of names.entries()) {
    graph.addNode(name, async ({ run }) => {
      await effect(run, step);
      return { step };
    });
    graph.addEdge(names[step - 1] ?? START, name);
  }
  graph.addEdge(names.at(-1) ?? START, END);
  const app = graph.compile({ checkpointer });
  const asking = new StateGraph(State)
    .addNode("before", async ({ run }) => {
      await effect(run, 0);
      return { step: 0 };
    })
    .addNode("ask", async () => {
      interrupt("?");
      return { step: 1 };
    })
    .addNode("after", async ({ run }) => {
      await effect(run, 1);
      return { step: 2 };
    })
    .addEdge(START, "before")
    .addEdge("before", "ask")
    .addEdge("ask", "after")
    .addEdge("after", END)
    .compile({ checkpointer });
  const options = (id: string) => ({
    configurable: { thread_id: id },
    durability: "sync" as const,
    recursionLimit: 1_000,
  });
  const run = async (id: string) => {
    await app.invoke({ run: id, step: -1 }, options(id));
  };
  const level = db.pragma("synchronous", { simple: true });
  return {
    syncs: level === 2 ? "each commit (WAL, synchronous=FULL)" : "now and then (WAL, synchronous=NORMAL)",
    run,
    async finish(id) {
      const state = await app.getState(options(id));
      if (state.createdAt === undefined) await run(id);
      // Whatever `next` says: it is empty also when a node's writes are recorded, but not yet the checkpoint after it.
      else await app.invoke(null, options(id));
    },
    async park(id) {
      await asking.invoke({ run: id, step: -1 }, options(id));
    },
    async answer(id) {
      await asking.invoke(new Command({ resume: "yes" }), options(id));
    },
    async close() {
      db.close();
    },
  };
};

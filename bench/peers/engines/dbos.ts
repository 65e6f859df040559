/** DBOS Transact on PostgreSQL. */
import { DBOS } from "@dbos-inc/dbos-sdk";
import type { OpenPeer } from "../peer.ts";

/** It asks the database once a second whether a run has ended that began in another process; others tell at once. */
const soon = { pollingIntervalMs: 10 };

export const open: OpenPeer = async ({ url, steps, effect }) => {
  const quiet = { info() {}, debug() {}, warn() {}, error() {} };
  DBOS.setConfig({
    name: "bench",
    systemDatabaseUrl: url,
    logger: quiet,
    applicationVersion: "1",
    executorID: "local",
  });
  const waiting = new Map<string, () => void>();
  const idOf = () => DBOS.workflowID ?? "";
  const stepsFlow = DBOS.registerWorkflow(
    async () => {
      for (let step = 0; step < steps; step++) {
        await DBOS.runStep(async () => effect(idOf(), step), { name: `step ${step}` });
      }
    },
    { name: "steps" },
  );
  const askFlow = DBOS.registerWorkflow(
    async () => {
      await DBOS.runStep(async () => effect(idOf(), 0), { name: "step 0" });
      waiting.get(idOf())?.();
      await DBOS.recv("answer", { timeoutSeconds: 86_400 });
      await DBOS.runStep(async () => effect(idOf(), 1), { name: "step 1" });
    },
    { name: "ask" },
  );
  await DBOS.launch();
  const finish = async (id: string) => {
    const handle = await DBOS.startWorkflow(stepsFlow, { workflowID: id })();
    await handle.getResult(soon);
  };
  return {
    syncs: "each commit (PostgreSQL, fsync=on)",
    run: finish,
    finish,
    async park(id) {
      const waits = new Promise<void>((resolve) => waiting.set(id, resolve));
      await DBOS.startWorkflow(askFlow, { workflowID: id })();
      await waits;
    },
    async answer(id) {
      await DBOS.send(id, "yes", "answer", "the answer");
      await DBOS.retrieveWorkflow(id).getResult(soon);
    },
    close: () => DBOS.shutdown(),
  };
};

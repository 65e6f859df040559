/** DBOS Transact on PostgreSQL. */
import { DBOS } from "@dbos-inc/dbos-sdk";
import type { OpenPeer } from "../peer.ts";

export const open: OpenPeer = async ({ url, steps, effect }) => {
  const quiet = { info() {}, debug() {}, warn() {}, error() {} };
  DBOS.setConfig({
    name: "bench",
    systemDatabaseUrl: url,
    logger: quiet,
    applicationVersion: "1",
    executorID: "local",
  });
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
      await DBOS.recv("answer", { timeoutSeconds: 86_400 });
      await DBOS.runStep(async () => effect(idOf(), 1), { name: "step 1" });
    },
    { name: "ask" },
  );
  await DBOS.launch();
  const finish = async (id: string) => {
    const handle = await DBOS.startWorkflow(stepsFlow, { workflowID: id })();
    await handle.getResult();
  };
  return {
    syncs: "each commit (PostgreSQL, fsync=on)",
    run: finish,
    finish,
    async park(id) {
      await DBOS.startWorkflow(askFlow, { workflowID: id })();
      while (((await DBOS.listWorkflowSteps(id)) ?? []).length < 1)
        await new Promise((resolve) => setTimeout(resolve, 5));
    },
    async answer(id) {
      await DBOS.send(id, "yes", "answer", "the answer");
      await DBOS.retrieveWorkflow(id).getResult();
    },
    close: () => DBOS.shutdown(),
  };
};

import { copyFile } from "node:fs/promises";
import { join } from "node:path";
import { agentOf } from "@aegis/test/helpers/agents.ts";
import { driverSuite } from "@aegis/test/suites/driver-suite.ts";
import { createScriptedDriver } from "../../src/scripted/driver.ts";

const noProcess = "it lives in the daemon and starts no process";

driverSuite("scripted", {
  async make({ deps, dir }) {
    await copyFile(new URL("behaviours.yaml", import.meta.url), join(dir, "playbook.yaml"));
    return {
      driver: createScriptedDriver(deps),
      agent: agentOf({ harness: "scripted", options: { playbook: "playbook.yaml" } }),
    };
  },
  absent: {
    ignoresTerm: noProcess,
    garbage: `${noProcess}, so there is no protocol to break`,
    hugeLine: `${noProcess}, so nothing is framed in lines`,
    unknownEvent: `${noProcess}, so it makes only events it knows`,
    notice: "it does nothing between turns",
    spontaneous: "it does nothing between turns",
    picture: "it sees nothing but text",
    recall: "it keeps no memory, which is why a cut turn can be sent again",
  },
});

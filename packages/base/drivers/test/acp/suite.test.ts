/** The ACP driver under the suite of every driver. */

import { driverSuite } from "@aegis/test/suites/driver-suite.ts";
import { createAcpDriver } from "../../src/acp/driver.ts";
import { custom } from "../../src/acp/recipes/custom.ts";
import { fixtureAgent } from "./fixture-agent.ts";

driverSuite("acp", {
  make: async ({ deps }) => ({ driver: createAcpDriver(deps, custom), agent: fixtureAgent() }),
  absent: {
    spontaneous: "an ACP agent works only while it has a prompt to answer",
    steered: "the protocol knows no message in the middle of a turn",
  },
});

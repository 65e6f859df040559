/** The ACP driver under the suite of every driver. */
import { createAcpDriver } from "../../../src/drivers/acp/driver.ts";
import { custom } from "../../../src/drivers/acp/recipes/custom.ts";
import { driverSuite } from "../../suites/driver-suite.ts";
import { fixtureAgent } from "./fixture-agent.ts";

driverSuite("acp", {
  make: async ({ deps }) => ({ driver: createAcpDriver(deps, custom), agent: fixtureAgent() }),
  absent: {
    spontaneous: "an ACP agent works only while it has a prompt to answer",
    steered: "the protocol knows no message in the middle of a turn",
  },
});

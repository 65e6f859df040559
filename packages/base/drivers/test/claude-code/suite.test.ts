import { driverSuite } from "@aegis/test/suites/driver-suite.ts";
import { claudeUnderTest } from "./under-test.ts";

driverSuite("claude-code", claudeUnderTest());

import { driverSuite } from "@aegis/test/suites/driver-suite.ts";
import { codexUnderTest } from "./under-test.ts";

driverSuite("codex", codexUnderTest());

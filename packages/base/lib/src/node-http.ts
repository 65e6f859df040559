/**
 * Node's HTTP module. An `import` statement reads every export of the module, and one of these getters loads all of
 * Node's fetch, which costs each process 40 ms and some megabytes.
 */
export const http = process.getBuiltinModule("node:http");

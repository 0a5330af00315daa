import{a}from"/assets/chunk-OWERWIH3.js";import"/assets/chunk-FBADU5Z2.js";import"/assets/chunk-O3CZ7EY4.js";import"/assets/chunk-ZZO5RSGM.js";export{a as Withdraw};

import{a}from"/assets/chunk-RC2SW25M.js";import"/assets/chunk-RWP4GW6T.js";import"/assets/chunk-K5IT4SSZ.js";export{a as ApprovalDialog};

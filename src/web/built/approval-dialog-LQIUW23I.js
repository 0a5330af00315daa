import{a}from"/assets/chunk-NS4U5PMN.js";import"/assets/chunk-CIUGPYF5.js";import"/assets/chunk-W6CUCUK7.js";import"/assets/chunk-KHPADQKH.js";export{a as ApprovalDialog};

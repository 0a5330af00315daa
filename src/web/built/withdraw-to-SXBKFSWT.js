import{a}from"/assets/chunk-6L4PGWVN.js";import"/assets/chunk-YEOV4A7B.js";import"/assets/chunk-AREVUIQN.js";import"/assets/chunk-GSCXSVKB.js";export{a as Withdraw};

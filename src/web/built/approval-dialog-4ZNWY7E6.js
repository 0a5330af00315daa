import{a,b}from"/assets/chunk-WG2LQBPP.js";import"/assets/chunk-TOWUOQRD.js";import"/assets/chunk-O3CZ7EY4.js";import"/assets/chunk-ZZO5RSGM.js";export{a as ApprovalDialog,b as DeclineDialog};

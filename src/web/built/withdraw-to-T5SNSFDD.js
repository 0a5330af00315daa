import{a}from"/assets/chunk-2L4AX3JH.js";import"/assets/chunk-DSUP5OV5.js";import"/assets/chunk-QFD4ASVL.js";import"/assets/chunk-FUXW4EFG.js";export{a as Withdraw};

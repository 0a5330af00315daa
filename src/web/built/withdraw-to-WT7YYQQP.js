import{a}from"/assets/chunk-DZKROC2D.js";import"/assets/chunk-5U5EOD4I.js";import"/assets/chunk-5QQLPZUK.js";import"/assets/chunk-P7JS3UBV.js";export{a as Withdraw};

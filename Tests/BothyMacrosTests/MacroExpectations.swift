import BothyMacros
import SwiftSyntax
import SwiftSyntaxBuilder
import SwiftSyntaxMacroExpansion
import SwiftSyntaxMacrosGenericTestSupport
import Testing

/// Compares the expansion of `@Entity` with the expected text, character by character.
func expectExpansion(
  _ source: String, _ expected: String, diagnostics: [DiagnosticSpec] = [], fixIts: [String]? = nil,
  fixed: String? = nil, macros: [String: MacroSpec] = entityMacro,
  at location: Testing.SourceLocation = #_sourceLocation
) {
  assertMacroExpansion(
    source, expandedSource: expected, diagnostics: diagnostics, macroSpecs: macros, applyFixIts: fixIts,
    fixedSource: fixed, indentationWidth: .spaces(2),
    failureHandler: { Issue.record("\($0.message)", sourceLocation: location) })
}

let entityMacro = ["Entity": MacroSpec(type: EntityMacro.self, conformances: ["Entity"])]

/// The options of fields, which expand to nothing.
let markerMacros = Dictionary(
  uniqueKeysWithValues: [
    "Named", "Indexed", "UniqueValue", "FullText", "Sensitive", "Merge", "OnDelete", "NotStored",
  ].map { ($0, MacroSpec(type: FieldMarkerMacro.self)) })

package import SwiftSyntax
package import SwiftSyntaxMacros

/// The expansion of `@Indexed`, `@Merge` and the other options of a field: nothing. `@Entity` reads them.
///
/// Reports an option outside a struct marked `@Entity`.
package struct FieldMarkerMacro: PeerMacro {
  package static func expansion(
    of node: AttributeSyntax, providingPeersOf declaration: some DeclSyntaxProtocol,
    in context: some MacroExpansionContext
  ) throws -> [DeclSyntax] {
    let attributes =
      context.lexicalContext.first?.asProtocol((any WithAttributesSyntax).self)?.attributes ?? []
    let isInEntity = attributes.contains {
      ["Entity", "SettingsGroup"].contains($0.as(AttributeSyntax.self)?.plainName)
    }
    if !isInEntity || !declaration.is(VariableDeclSyntax.self) {
      var problems = Problems()
      problems.add(.outsideEntity(option: node.plainName), at: node)
      for problem in problems.found { context.diagnose(problem) }
    }
    return []
  }
}

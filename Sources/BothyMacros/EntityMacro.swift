package import SwiftSyntax
package import SwiftSyntaxMacros

/// The expansion of `@Entity`. Joins the parts that the other files read and write. Contains no syntax of its own.
///
/// Every member that repeats a type or a value of the struct is written inside it, where the struct's own names are in
/// scope. The extension has only the conformance.
package struct EntityMacro: MemberMacro, ExtensionMacro {
  package static func expansion(
    of node: AttributeSyntax, providingMembersOf declaration: some DeclGroupSyntax,
    conformingTo protocols: [TypeSyntax], in context: some MacroExpansionContext
  ) throws -> [DeclSyntax] {
    var problems = Problems()
    let entity = EntityDeclaration(node, declaration, context.lexicalContext, problems: &problems)
    for problem in problems.found { context.diagnose(problem) }
    guard let entity, problems.found.isEmpty else { return [] }
    return entity.members
  }

  package static func expansion(
    of node: AttributeSyntax, attachedTo declaration: some DeclGroupSyntax,
    providingExtensionsOf type: some TypeSyntaxProtocol, conformingTo protocols: [TypeSyntax],
    in context: some MacroExpansionContext
  ) throws -> [ExtensionDeclSyntax] {
    // The member expansion reports the problems. Here they only prevent the conformance.
    var problems = Problems()
    let entity = EntityDeclaration(node, declaration, context.lexicalContext, problems: &problems)
    guard let entity, problems.found.isEmpty, !protocols.isEmpty else { return [] }
    return [try entity.conformance(of: type)]
  }
}

package import SwiftSyntax
package import SwiftSyntaxMacros

/// The expansion of `@Entity`: joins the parts that the other files read and write. Says nothing of syntax.
///
/// Everything that repeats a type or a value of the struct is written inside it, where the struct's own names
/// are in scope; the extension carries the conformance alone.
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
    // The member expansion has reported the problems; here they only mean that there is no conformance.
    var problems = Problems()
    let entity = EntityDeclaration(node, declaration, context.lexicalContext, problems: &problems)
    guard let entity, problems.found.isEmpty, !protocols.isEmpty else { return [] }
    return [try entity.conformance(of: type)]
  }
}

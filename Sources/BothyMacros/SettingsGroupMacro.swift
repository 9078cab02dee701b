package import SwiftSyntax
import SwiftSyntaxBuilder
package import SwiftSyntaxMacros

/// The expansion of `@SettingsGroup`. Reads the struct as `@Entity` does, checks the rules for settings, and joins the
/// members that `SettingsMembers` writes.
package struct SettingsGroupMacro: MemberMacro, ExtensionMacro {
  package static func expansion(
    of node: AttributeSyntax, providingMembersOf declaration: some DeclGroupSyntax,
    conformingTo protocols: [TypeSyntax], in context: some MacroExpansionContext
  ) throws -> [DeclSyntax] {
    var problems = Problems(ofSettings: true)
    let group = read(node, declaration, context, problems: &problems)
    for problem in problems.found { context.diagnose(problem) }
    guard let group, problems.found.isEmpty else { return [] }
    return SettingsMembers(group, hasPlainInitialiser: declaration.hasPlainInitialiser).all
  }

  package static func expansion(
    of node: AttributeSyntax, attachedTo declaration: some DeclGroupSyntax,
    providingExtensionsOf type: some TypeSyntaxProtocol, conformingTo protocols: [TypeSyntax],
    in context: some MacroExpansionContext
  ) throws -> [ExtensionDeclSyntax] {
    // The member expansion reports the problems. Here they only prevent the conformance.
    var problems = Problems(ofSettings: true)
    let group = read(node, declaration, context, problems: &problems)
    guard let group, problems.found.isEmpty, !protocols.isEmpty else { return [] }
    let name = group.arguments.home == nil ? "SettingsGroup" : "HostedSettingsGroup"
    return [try group.conformance(of: type, to: name)]
  }

  private static func read(
    _ node: AttributeSyntax, _ declaration: some DeclGroupSyntax, _ context: some MacroExpansionContext,
    problems: inout Problems
  ) -> EntityDeclaration? {
    guard let group = EntityDeclaration(node, declaration, context.lexicalContext, problems: &problems) else {
      return nil
    }
    if let id = group.declaredID { problems.add(.settingsID, at: id.name) }
    for field in group.fields where !field.startsWithValue {
      problems.add(.settingWithoutDefault(field.name.plainText), at: field.name)
    }
    for field in group.fields where field.holdsMoreThanAValue {
      problems.add(.notASetting(field.typeText), at: field.name)
    }
    let markers = declaration.memberBlock.members.flatMap {
      $0.decl.as(VariableDeclSyntax.self)?.attributes.fieldMarkers ?? []
    }
    for marker in markers where !["Named", "Merge", "NotStored"].contains(marker.plainName) {
      problems.add(.notForSettings(option: marker.plainName), at: marker)
    }
    return group
  }
}

extension EntityProperty {
  /// True if the type is a reference or a blob, an optional of one, or a list of them.
  fileprivate var holdsMoreThanAValue: Bool {
    let type = typeText.split { "[]?".contains($0) }.joined()
    return type == "Blob" || type.hasPrefix("Reference<") || type == "Bothy.Blob"
      || type.hasPrefix("Bothy.Reference<")
  }
}

extension DeclGroupSyntax {
  /// True if the body has an initialiser without parameters.
  fileprivate var hasPlainInitialiser: Bool {
    memberBlock.members.contains {
      $0.decl.as(InitializerDeclSyntax.self)?.signature.parameterClause.parameters.isEmpty == true
    }
  }
}

import SwiftSyntax
import SwiftSyntaxBuilder

/// Writes the memberwise initialiser by Swift's own rules, with three differences:
/// - It is as visible as the struct.
/// - An id that the struct doesn't declare is the first parameter and has a default.
/// - Every optional property may be left out.
extension EntityDeclaration {
  var memberwiseInitialiser: DeclSyntax {
    let members = parameters
    let list = members.map { member in
      "\(member.name): \(member.type)" + (member.value.map { " = \($0)" } ?? "")
    }
    let assignments = members.map { "\n  self.\($0.name) = \($0.name)" }.joined()
    let oneLine = list.joined(separator: ", ")
    let parameterList =
      oneLine.count < 80 ? oneLine : "\n  " + list.joined(separator: ",\n  ") + "\n"
    return """
      nonisolated \(raw: modifier(members))init(\(raw: parameterList)) {\(raw: assignments)
        self.readMark = Bothy.ReadMark()
      }
      """
  }

  /// Returns the modifier of the initialiser, which is at most as visible as its least visible parameter.
  private func modifier(_ parameters: [Parameter]) -> String {
    let least = parameters.map(\.access).min() ?? .public
    guard least < .internal else { return min(least, access).modifier }
    return least < access || least == .private ? "\(least) " : ""
  }

  private struct Parameter {
    let name: String
    let type: String
    let value: String?
    let access: AccessLevel
  }

  private var parameters: [Parameter] {
    var parameters = properties.map(parameter)
    let id: Parameter? =
      declaredID.map {
        Parameter(name: "id", type: "String", value: $0.initialValue?.description, access: .public)
      } ?? Parameter(name: "id", type: "String", value: "Bothy.UUIDv7.make()", access: .public)
    parameters.insert(id, at: idPosition)
    return parameters.compactMap { $0 }
  }

  /// Returns the parameter of a property, or nil if the initialiser leaves the property at its initial value. That
  /// applies to a lazy property, a constant, one less visible than the struct, and `@NotStored` without a type.
  private func parameter(_ property: EntityProperty) -> Parameter? {
    let staysAsItIs =
      property.isLazy || (property.isLet && property.initialValue != nil) || property.type == nil
      || (property.startsWithValue && (property.access < access || property.access == .private))
    if staysAsItIs { return nil }
    // A closure parameter outlives the call.
    let escaping = property.type?.isFunction == true ? "@escaping " : ""
    return Parameter(
      name: property.name.text, type: escaping + property.typeText,
      value: property.parameterDefault?.description, access: property.access)
  }
}

extension TypeSyntax {
  /// True for a function, with attributes or without: `@Sendable () -> Void`.
  fileprivate var isFunction: Bool {
    self.is(FunctionTypeSyntax.self) || self.as(AttributedTypeSyntax.self)?.baseType.isFunction == true
  }
}

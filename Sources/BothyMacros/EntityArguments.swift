import SwiftSyntax

/// The arguments of `@Entity(…)` and `@SettingsGroup(…)`, as written in the source.
struct EntityArguments {
  var name: String?
  var isLocal = false
  var remoteOnly: ExprSyntax?
  var permissions: ExprSyntax?
  /// The type's name on the wire.
  var wire: String?
  /// The store of a settings group, its version, and the steps to that version.
  var home: ExprSyntax?
  var version: ExprSyntax?
  var steps: ExprSyntax?

  init?(_ node: AttributeSyntax, problems: inout Problems) {
    guard case .argumentList(let list)? = node.arguments else { return }
    for argument in list {
      switch argument.label?.text {
      case "remoteOnly": remoteOnly = argument.expression.trimmed
      case "permissions": permissions = argument.expression.trimmed
      case "wire":
        guard let text = argument.expression.literalText else {
          problems.add(.nameNotLiteral, at: argument.expression)
          return nil
        }
        if !text.isSchemaName { problems.add(.invalidName(text), at: argument.expression) }
        wire = text
      case "in": home = argument.expression.trimmed
      case "version": version = argument.expression.trimmed
      case "steps": steps = argument.expression.trimmed
      default:
        if let member = argument.expression.as(MemberAccessExprSyntax.self) {
          isLocal = member.declName.baseName.text == "local"
        } else if let text = argument.expression.literalText {
          if !text.isSchemaName { problems.add(.invalidName(text), at: argument.expression) }
          name = text
        } else {
          problems.add(.nameNotLiteral, at: argument.expression)
          return nil
        }
      }
    }
  }
}

extension ExprSyntax {
  /// The text of a string literal in one piece, without interpolation and line breaks.
  var literalText: String? {
    guard let literal = self.as(StringLiteralExprSyntax.self), literal.segments.count == 1 else { return nil }
    return literal.segments.first?.as(StringSegmentSyntax.self)?.content.text
  }
}

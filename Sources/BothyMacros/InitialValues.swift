import SwiftSyntax
import SwiftSyntaxBuilder

/// The properties of an initial value that its source shows: its type, and whether it is constant.
extension ExprSyntax {
  /// The type of a literal, and of `Date()`, `UUID()` and `Data()`. Nil for other expressions, whose type only the
  /// compiler knows.
  var literalType: TypeSyntax? {
    switch self.as(ExprSyntaxEnum.self) {
    case .booleanLiteralExpr: return "Bool"
    case .integerLiteralExpr: return "Int"
    case .floatLiteralExpr: return "Double"
    case .stringLiteralExpr: return "String"
    case .prefixOperatorExpr(let negated) where negated.operator.text == "-":
      return negated.expression.literalType
    case .functionCallExpr(let call)
    where call.arguments.isEmpty && call.trailingClosure == nil
      && ["Date", "UUID", "Data"].contains(call.calledExpression.trimmedDescription):
      return "\(call.calledExpression.trimmed)"
    default: return nil
    }
  }

  /// The type that the value most likely has: `Priority` for `Priority.low` and `Priority(2)`.
  var likelyType: TypeSyntax? {
    switch self.as(ExprSyntaxEnum.self) {
    case .functionCallExpr(let call) where call.calledExpression.startsUpperCase:
      return "\(call.calledExpression.trimmed)"
    case .memberAccessExpr(let member):
      guard let base = member.base, base.startsUpperCase else { return nil }
      return "\(base.trimmed)"
    default: return nil
    }
  }

  /// True if the value is constant, so that it can be the schema's default. Literals, enum cases, and initialisers with
  /// such arguments are constant; `Date()` and `make()` aren't.
  var isConstant: Bool {
    switch self.as(ExprSyntaxEnum.self) {
    case .booleanLiteralExpr, .integerLiteralExpr, .floatLiteralExpr: return true
    case .stringLiteralExpr(let literal):
      return literal.segments.allSatisfy { $0.is(StringSegmentSyntax.self) }
    case .prefixOperatorExpr(let negated): return negated.expression.isConstant
    case .arrayExpr(let array): return array.elements.allSatisfy { $0.expression.isConstant }
    case .memberAccessExpr(let member):
      return member.declName.baseName.text != "now" && (member.base?.isTypeName ?? true)
    case .functionCallExpr(let call): return call.isConstant
    case .sequenceExpr(let sequence):
      return sequence.elements.allSatisfy { $0.is(BinaryOperatorExprSyntax.self) || $0.isConstant }
    case .tupleExpr(let parentheses):
      return parentheses.elements.count == 1 && parentheses.elements.allSatisfy { $0.expression.isConstant }
    default: return false
    }
  }

  /// True if the expression is a literal, which needs no explicit type beside it.
  var isLiteral: Bool {
    isConstant && !self.is(MemberAccessExprSyntax.self) && !self.is(FunctionCallExprSyntax.self)
  }

  fileprivate var isTypeName: Bool {
    if self.is(DeclReferenceExprSyntax.self) { return startsUpperCase }
    guard let member = self.as(MemberAccessExprSyntax.self) else { return false }
    return startsUpperCase && (member.base?.isTypeName ?? false)
  }

  fileprivate var startsUpperCase: Bool {
    let name =
      self.as(DeclReferenceExprSyntax.self)?.baseName.text
      ?? self.as(MemberAccessExprSyntax.self)?.declName.baseName.text
    return name?.first?.isUppercase ?? false
  }
}

extension FunctionCallExprSyntax {
  /// True for an initialiser of a type with constant arguments that reads neither the clock nor random numbers.
  fileprivate var isConstant: Bool {
    let callee = calledExpression.trimmedDescription.replacing("Foundation.", with: "", maxReplacements: 1)
    let asksTheWorld =
      ["Date", "UUID", "Date.init", "UUID.init", ".init"].contains(callee) && arguments.isEmpty
    let isInitialiser =
      calledExpression.isTypeName
      || calledExpression.as(MemberAccessExprSyntax.self)?.declName.baseName.text == "init"
    return isInitialiser && !asksTheWorld && trailingClosure == nil
      && arguments.allSatisfy { $0.expression.isConstant && $0.label?.text != "timeIntervalSinceNow" }
  }
}

import SwiftSyntax
import SwiftSyntaxBuilder

/// One stored property of an entity, with the options from its attributes.
struct EntityProperty {
  /// The name as written, with backticks and with its position in the source.
  let name: TokenSyntax
  let type: TypeSyntax?
  let initialValue: ExprSyntax?
  let isLet: Bool
  let isLazy: Bool
  let access: AccessLevel
  let options: FieldOptions

  var isTransient: Bool { options.isTransient }
  /// The field's name in the schema.
  var fieldName: String { options.name ?? name.plainText }

  /// True if Swift gives the property a value before an initialiser runs: an initial value, or nil for `var x: T?`.
  var startsWithValue: Bool { initialValue != nil || (!isLet && isOptional) }
  var isOptional: Bool { type?.is(OptionalTypeSyntax.self) ?? false }

  /// The default of the property's parameter.
  var parameterDefault: ExprSyntax? { initialValue ?? (isOptional ? "nil" : nil) }
}

/// The options of one field.
struct FieldOptions {
  var name: String?
  var wire: String?
  var aliases: [String] = []
  var isIndexed = false
  var isUnique = false
  var isFullText = false
  var isNatural = false
  var isSensitive = false
  var isTransient = false
  /// The indexes of the field with others, or of some of the records.
  var indexes: [IndexOption] = []
  var merge: ExprSyntax?
  var onDelete: ExprSyntax?

  /// The attributes that are options of a field.
  static let markers: Set<String> = [
    "Named", "Indexed", "UniqueValue", "FullText", "Sensitive", "Merge", "OnDelete", "NotStored",
  ]

  /// The attributes of SwiftData and Realm that have another name here, and what to write in their place.
  static let otherAttributes = [
    "Attribute": "@UniqueValue, or a field of type Blob", "Index": "@Indexed",
    "Persisted": "left out: each stored property is a field", "Relationship": "a Reference with @OnDelete",
    "Transient": "@NotStored", "Unique": "@UniqueValue",
  ]

  init(_ attributes: AttributeListSyntax, problems: inout Problems) {
    for case .attribute(let attribute) in attributes {
      guard let use = Self.otherAttributes[attribute.plainName] else { continue }
      problems.add(.otherAttribute(attribute.plainName, use: use), at: attribute)
    }
    for attribute in attributes.fieldMarkers {
      let argument: ExprSyntax? =
        if case .argumentList(let list)? = attribute.arguments { list.first?.expression.trimmed } else { nil }
      switch attribute.plainName {
      case "Indexed", "UniqueValue": readIndex(attribute, problems: &problems)
      case "FullText": isFullText = true
      case "Sensitive": isSensitive = true
      case "NotStored": isTransient = true
      case "Merge": merge = argument
      case "OnDelete": onDelete = argument
      default: readNames(attribute, problems: &problems)
      }
    }
    if isTransient, let other = attributes.fieldMarkers.first(where: { $0.plainName != "NotStored" }) {
      problems.add(.transientWithOptions(option: other.plainName), at: other)
    }
  }

  /// Reads `@Indexed`, `@Indexed(with: "other", where: "done = false")`, `@Indexed(natural: true)` and
  /// `@UniqueValue(with: "other")`.
  private mutating func readIndex(_ attribute: AttributeSyntax, problems: inout Problems) {
    let isUnique = attribute.plainName == "UniqueValue"
    guard case .argumentList(let list)? = attribute.arguments, !list.isEmpty else {
      if isUnique { self.isUnique = true } else { isIndexed = true }
      return
    }
    var index = IndexOption(isUnique: isUnique)
    var isNatural = false
    for argument in list {
      if argument.label?.text == "natural" {
        guard let flag = argument.expression.as(BooleanLiteralExprSyntax.self) else {
          return problems.add(.flagNotLiteral, at: argument.expression)
        }
        isNatural = flag.literal.text == "true"
        continue
      }
      guard argument.expression.literalText != nil else {
        return problems.add(.nameNotLiteral, at: argument.expression)
      }
      if argument.label?.text == "where" {
        index.condition = argument.expression
      } else {
        index.others.append(argument.expression)
      }
    }
    self.isNatural = self.isNatural || isNatural
    if !index.others.isEmpty || index.condition != nil {
      indexes.append(index)
    } else if !isNatural {
      isIndexed = true
    }
  }

  /// Reads `@Named("here", wire: "there", aliases: ["elsewhere"])`, in which each argument may be left out.
  private mutating func readNames(_ attribute: AttributeSyntax, problems: inout Problems) {
    guard case .argumentList(let list)? = attribute.arguments, !list.isEmpty else {
      return problems.add(.nameNotLiteral, at: attribute)
    }
    for argument in list {
      let values = argument.expression.as(ArrayExprSyntax.self)?.elements.map(\.expression)
      for value in values ?? [argument.expression] {
        guard let text = value.literalText else { return problems.add(.nameNotLiteral, at: attribute) }
        if !text.isSchemaName || text == "id" { problems.add(.invalidName(text), at: attribute) }
        switch argument.label?.text {
        case "wire": wire = text
        case "aliases": aliases.append(text)
        default: name = text
        }
      }
    }
  }
}

/// An index of a field with others, or of some of the records, as written in the source.
struct IndexOption {
  let isUnique: Bool
  /// The names of the other fields, as literals with their positions.
  var others: [ExprSyntax] = []
  /// The condition of the records, as a literal.
  var condition: ExprSyntax?
}

extension AttributeListSyntax {
  /// The attributes that are options of a field.
  var fieldMarkers: [AttributeSyntax] {
    compactMap { $0.as(AttributeSyntax.self) }.filter { FieldOptions.markers.contains($0.plainName) }
  }
}

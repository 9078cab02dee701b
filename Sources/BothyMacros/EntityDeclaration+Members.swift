import SwiftSyntax
import SwiftSyntaxBuilder

/// Writes the members of the conformance. They are `nonisolated`, so that an entity also works in a module whose code
/// runs on the main actor by default.
extension EntityDeclaration {
  var members: [DeclSyntax] {
    var members: [DeclSyntax] = []
    if declaredID == nil { members.append(idDeclaration) }
    members.append(markDeclaration)
    if !hasInitialiser { members.append(memberwiseInitialiser) }
    members.append("\(raw: prefix)static var typeName: String { \(literal: typeName) }")
    members.append(schemaDeclaration)
    members.append(fieldsDeclaration)
    members.append("\(raw: prefix)static var fields: Fields { Fields() }")
    members.append(encodeFunction)
    members.append(decodingInitialiser)
    return members
  }

  func conformance(
    of type: some TypeSyntaxProtocol, to name: String = "Entity"
  ) throws -> ExtensionDeclSyntax {
    let attributes = availability.map { $0.trimmedDescription + "\n" }.joined()
    return try ExtensionDeclSyntax(
      "\(raw: attributes)extension \(type.trimmed): nonisolated Bothy.\(raw: name) {}")
  }

  private var prefix: String { "nonisolated \(access.modifier)" }

  /// The declaration of the id. It has no initial value if the macro writes every initialiser, because each read of a
  /// row then creates an id only to replace it.
  private var idDeclaration: DeclSyntax {
    hasInitialiser
      ? "\(raw: prefix)var id: String = Bothy.UUIDv7.make()" : "\(raw: prefix)var id: String"
  }

  /// The declaration of the read mark. Its initial value is a constant if the macro writes every initialiser, because
  /// each read of a row otherwise reads the clock only to replace the time. A `Decodable` whose keys omit the mark
  /// needs the initial value.
  private var markDeclaration: DeclSyntax {
    "\(raw: prefix)var readMark = Bothy.ReadMark\(raw: hasInitialiser ? "()" : ".whole")"
  }

  private var schemaDeclaration: DeclSyntax {
    var arguments: [String] = [typeName.literal]
    let list = fields.map { "\n    " + $0.schemaCall }.joined(separator: ",")
    arguments.append("fields: [\(list)\n  ]")
    if fields.isEmpty { arguments[1] = "fields: []" }
    if self.arguments.isLocal { arguments.append("synced: false") }
    if let remoteOnly = self.arguments.remoteOnly { arguments.append("remoteOnly: \(remoteOnly)") }
    if let permissions = self.arguments.permissions { arguments.append("permissions: \(permissions)") }
    if let wire = self.arguments.wire { arguments.append("wire: \(wire.literal)") }
    let indexes = fields.flatMap(\.indexCalls).joined()
    return """
      \(raw: prefix)static let schema = Bothy.TypeSchema(
        \(raw: arguments.joined(separator: ",\n  "))
      )\(raw: indexes)
      """
  }

  /// The type of `$0` in `RecordQuery.where { $0.done == false }`. Leaves out private properties.
  private var fieldsDeclaration: DeclSyntax {
    let lines = fields.filter { $0.access > .private }.map { field in
      let modifier = field.access == .fileprivate ? "fileprivate " : min(field.access, access).modifier
      return "\n  \(modifier)var \(field.name.text): Bothy.Field<\(field.typeText)> "
        + "{ Bothy.Field(\(field.fieldName.literal)) }"
    }.joined()
    return """
      \(raw: prefix)struct Fields: Sendable {
        \(raw: access.modifier)var id: Bothy.Field<String> { Bothy.Field("id") }\(raw: lines)
      }
      """
  }

  private var encodeFunction: DeclSyntax {
    let lines = fields.map { "\n  self.\($0.name.text).encodeField(to: &fields)" }.joined()
    return """
      \(raw: prefix)func encode(to fields: inout Bothy.FieldEncoder) {\(raw: lines)
      }
      """
  }

  private var decodingInitialiser: DeclSyntax {
    let lines = fields.map {
      "\n  self.\($0.name.text) = try \($0.typeText)(fromField: &fields)"
    }.joined()
    return """
      \(raw: prefix)init(id: String, from fields: inout Bothy.FieldDecoder) throws(Bothy.BothyError) {
        self.id = id\(raw: lines)
        self.readMark = fields.readMark
      }
      """
  }
}

extension EntityProperty {
  var typeText: String { type?.trimmedDescription ?? "" }

  /// `.field("title", String.self, indexed: true)`
  fileprivate var schemaCall: String {
    var arguments = [fieldName.literal, "\(typeText).self"]
    if let value = initialValue, value.isConstant {
      // `.low` and `Address()` resolve only beside an explicit type.
      arguments.append("default: \(value)" + (value.isLiteral ? "" : " as \(typeText)"))
    }
    if options.isIndexed { arguments.append("indexed: true") }
    if options.isUnique { arguments.append("unique: true") }
    if options.isFullText { arguments.append("fullText: true") }
    if options.isNatural { arguments.append("natural: true") }
    if let rule = options.merge { arguments.append("merge: \(rule)") }
    if let rule = options.onDelete { arguments.append("onDelete: \(rule)") }
    if options.isSensitive { arguments.append("sensitive: true") }
    arguments += wireArguments
    return ".field(\(arguments.joined(separator: ", ")))"
  }

  /// The arguments for the names on the wire, `wire: "title"` and `aliases: ["heading"]`.
  var wireArguments: [String] {
    let aliases = options.aliases.map(\.literal).joined(separator: ", ")
    let wire = options.wire.map { ["wire: \($0.literal)"] } ?? []
    return aliases.isEmpty ? wire : wire + ["aliases: [\(aliases)]"]
  }

  /// `.indexed(by: "list", "due", where: "done = false")`, for each index with others or of some of the records.
  fileprivate var indexCalls: [String] {
    options.indexes.map { index in
      var arguments = [fieldName.literal] + index.others.map(\.trimmedDescription)
      if index.isUnique { arguments.append("unique: true") }
      if let condition = index.condition { arguments.append("where: \(condition.trimmedDescription)") }
      return ".indexed(by: \(arguments.joined(separator: ", ")))"
    }
  }
}

extension String {
  /// The text as a string literal. Names in a schema need no escapes.
  fileprivate var literal: String { "\"\(self)\"" }
}

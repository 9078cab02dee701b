import SwiftSyntax
import SwiftSyntaxBuilder

/// Writes the members of a struct marked `@SettingsGroup`. They are `nonisolated`, like those of an entity.
struct SettingsMembers {
  private let group: EntityDeclaration
  private let hasPlainInitialiser: Bool

  init(_ group: EntityDeclaration, hasPlainInitialiser: Bool) {
    self.group = group
    self.hasPlainInitialiser = hasPlainInitialiser
  }

  var all: [DeclSyntax] {
    var members: [DeclSyntax] = []
    if !hasPlainInitialiser { members.append("\(raw: prefix)init() {\n}") }
    members.append("\(raw: prefix)static var groupName: String { \(literal: group.typeName) }")
    if let version = group.arguments.version {
      members.append("\(raw: prefix)static var version: Int { \(version) }")
    }
    if let steps = group.arguments.steps {
      members.append("\(raw: prefix)static var steps: [Bothy.SettingsStep] { \(steps) }")
    }
    members.append(fields)
    if let home = group.arguments.home {
      members.append("\(raw: prefix)static let settings = Bothy.SharedSettings<Self>(in: \(home))")
    }
    members.append(encodeFunction)
    members.append(decodingInitialiser)
    return members
  }

  private var prefix: String { "nonisolated \(group.access.modifier)" }

  private var fields: DeclSyntax {
    let list = group.fields.map { field in
      let merge = field.options.merge.map { ["merge: \($0)"] } ?? []
      let arguments = ["\"\(field.fieldName)\"", "\(field.typeText).self"] + merge + field.wireArguments
      return "\n  .field(\(arguments.joined(separator: ", ")))"
    }.joined(separator: ",")
    return "\(raw: prefix)static let fields: [Bothy.FieldSchema] = [\(raw: list)\n]"
  }

  private var encodeFunction: DeclSyntax {
    let lines = group.fields.map { "\n  self.\($0.name.text).encodeField(to: &fields)" }.joined()
    return """
      \(raw: prefix)func encode(to fields: inout Bothy.FieldEncoder) {\(raw: lines)
      }
      """
  }

  private var decodingInitialiser: DeclSyntax {
    let lines = group.fields.map {
      "\n  self.\($0.name.text) = try \($0.typeText)(fromField: &fields)"
    }.joined()
    return """
      \(raw: prefix)init(from fields: inout Bothy.FieldDecoder) throws(Bothy.BothyError) {\(raw: lines)
      }
      """
  }
}

import BothySettings
import BothyStore
import BothySync

/// The groups of settings in each file, those of the database itself first.
struct Settings {
  let files: [(path: String, groups: [SettingsRow])]

  init(_ subjects: InspectorSubjects) throws {
    files = try ([subjects.store.store] + subjects.settings).map { store in
      (store.path, try StoredSettings(in: store).groups())
    }
  }

  func write(to writer: inout JSONWriter) {
    writer.list("files", files) { writer, file in
      writer.member("path", file.path)
      writer.list("groups", file.groups) { writer, group in
        group.write(to: &writer)
        writer.member("generation", group.generation)
        writer.list("fields", group.fields) { writer, field in
          writer.member("name", field.name)
          writer.member("kind", field.kindName)
          writer.key("default")
          field.written(field.defaultValue ?? .null).write(to: &writer)
        }
      }
    }
  }
}

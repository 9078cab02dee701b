/// The step that adds indexes of fields.
extension StorageTables {
  /// Servers that don't know the entries leave the position of a space's indexes behind, and those that do complete
  /// them. So the step only adds. No index is built in it.
  static let fieldIndexes = Step.additive(
    """
    CREATE TABLE field_value (
      space text COLLATE "C" NOT NULL, field bigint NOT NULL, key bytea NOT NULL, id text COLLATE "C" NOT NULL,
      PRIMARY KEY (space, field, key, id)
    );
    ALTER TABLE space ADD COLUMN indexes text;
    ALTER TABLE space ADD COLUMN indexed bigint NOT NULL DEFAULT 0;
    """)
}

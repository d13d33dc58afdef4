"""Agents on tasks: sessions, recording, built-in agents and their planted mistakes."""
